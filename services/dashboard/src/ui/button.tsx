/** Buttons: one that matters on a page, quiet ones beside it, and one that destroys. */
import type { ComponentProps, ReactNode } from "react";
import { Icon, type IconName } from "./icon";

type Kind = "primary" | "plain" | "quiet" | "danger";

const KINDS: Record<Kind, string> = {
  primary: "bg-accent text-on-accent hover:bg-accent-hover border-transparent",
  plain: "bg-surface text-ink border-line-strong hover:bg-hover",
  quiet: "border-transparent text-ink-2 hover:bg-hover hover:text-ink",
  danger: "bg-surface text-error-ink border-line-strong hover:bg-error-soft hover:border-error",
};

interface ButtonProps extends ComponentProps<"button"> {
  readonly kind?: Kind;
  readonly icon?: IconName;
}

const BUTTON =
  "inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-md border px-2.5 text-sm font-medium " +
  "whitespace-nowrap transition-colors duration-100 disabled:opacity-50 pointer-coarse:h-9";

export function buttonClass(kind: Kind = "plain"): string {
  return `${BUTTON} ${KINDS[kind]}`;
}

export function Button({ kind = "plain", icon, className = "", children, ...rest }: ButtonProps): ReactNode {
  return (
    <button type="button" className={`${buttonClass(kind)} ${className}`} {...rest}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A picture alone needs words for those who do not see it. */
export function IconButton({
  label,
  icon,
  kind = "quiet",
  className = "",
  ...rest
}: Omit<ButtonProps, "children"> & { readonly label: string; readonly icon: IconName }): ReactNode {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`${BUTTON} ${KINDS[kind]} w-8 px-0 pointer-coarse:w-9 ${className}`}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

/** What can be done with one thing: in words, or as a picture in a row of a table. */
export function ActionButton({
  label,
  isSmall,
  isDanger = false,
  ...rest
}: {
  icon: IconName;
  label: string;
  isSmall: boolean;
  isDanger?: boolean;
  disabled: boolean;
  onClick: () => void;
}): ReactNode {
  if (isSmall) {
    const className = isDanger ? "border-transparent bg-transparent" : "";
    return <IconButton label={label} kind={isDanger ? "danger" : "quiet"} className={className} {...rest} />;
  }
  return (
    <Button kind={isDanger ? "danger" : "plain"} {...rest}>
      {label}
    </Button>
  );
}
