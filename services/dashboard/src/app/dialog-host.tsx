/**
 * One dialog over the screen. It belongs to the screen, not to the row or panel that opened it: those come and go with
 * what is live, and a question that somebody is reading must not go with them.
 */
import { createContext, type ReactNode, use, useCallback, useState } from "react";

export type Draw = (close: () => void) => ReactNode;

interface Shown {
  readonly draw: Draw;
  readonly place: string;
}

const HostContext = createContext<((draw: Draw) => void) | null>(null);

/** `place`: the screen that it belongs to; whoever leaves that leaves the dialog. */
export function DialogHost({ place, children }: { place: string; children: ReactNode }): ReactNode {
  const [shown, setShown] = useState<Shown | null>(null);
  const show = useCallback((draw: Draw) => setShown({ draw, place }), [place]);
  const close = useCallback(() => setShown(null), []);
  return (
    <HostContext value={show}>
      {children}
      {shown !== null && shown.place === place && shown.draw(close)}
    </HostContext>
  );
}

/** Shows a dialog until it closes itself. */
export function useDialog(): (draw: Draw) => void {
  const show = use(HostContext);
  if (show === null) throw new Error("There is no dialog host around this component");
  return show;
}
