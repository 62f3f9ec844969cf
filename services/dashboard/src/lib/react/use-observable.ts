/** An `Observable` in a component. */
import { useSyncExternalStore } from "react";
import type { Observable } from "../session/observable";

export function useObservable<T>(observable: Observable<T>): T {
  return useSyncExternalStore(observable.subscribe, observable.get);
}
