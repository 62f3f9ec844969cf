/** A short list of choices behind a button. */
import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import type { Choosing } from "./field";
import { Icon, type IconName } from "./icon";

export function Menu({
  trigger,
  children,
  side = "bottom",
  isOpenAtFirst = false,
}: {
  trigger: ReactElement;
  children: ReactNode;
  side?: "bottom" | "top";
  isOpenAtFirst?: boolean;
}): ReactNode {
  return (
    <Base.Root defaultOpen={isOpenAtFirst}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="start" side={side} className="z-40">
          <Base.Popup className="min-w-52 rounded-lg border border-line bg-surface p-1 shadow-raised outline-none">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

const ITEM =
  "flex h-8 items-center gap-2 rounded-md px-2 text-sm text-ink outline-none select-none cursor-pointer " +
  "data-[highlighted]:bg-hover pointer-coarse:h-9";

export function MenuItem({
  icon,
  children,
  onClick,
}: {
  icon?: IconName;
  children: ReactNode;
  onClick: () => void;
}): ReactNode {
  return (
    <Base.Item className={ITEM} onClick={onClick}>
      {icon !== undefined && <Icon name={icon} className="text-ink-3" />}
      {children}
    </Base.Item>
  );
}

export function MenuChoice<T extends string>({ label, value, choices, onChange }: Choosing<T>): ReactNode {
  return (
    <Base.RadioGroup aria-label={label} value={value} onValueChange={(chosen) => onChange(chosen as T)}>
      <p aria-hidden="true" className="caption px-2 pt-2 pb-1">
        {label}
      </p>
      {choices.map((choice) => (
        <Base.RadioItem key={choice.value} value={choice.value} className={ITEM} closeOnClick>
          <span className="size-4">
            <Base.RadioItemIndicator>
              <Icon name="check" />
            </Base.RadioItemIndicator>
          </span>
          {choice.label}
        </Base.RadioItem>
      ))}
    </Base.RadioGroup>
  );
}

export function MenuLine(): ReactNode {
  return <Base.Separator className="my-1 h-px bg-line" />;
}
