/** Sensitive actions whose session ended under them: they wait for a sign-in, then are offered again. */
import { ActionAbandoned } from "./errors";
import { Observable } from "./observable";

export interface HeldAction {
  readonly id: number;
  /** What it would do, in the person's words: "Cancel 12 jobs". */
  readonly label: string;
  /** Does it now. Its caller, who has been waiting all the time, gets the outcome. */
  again(): void;
  abandon(): void;
}

export class HeldActions extends Observable<readonly HeldAction[]> {
  #next = 1;

  constructor() {
    super([]);
  }

  /** Settles when the action was done after all, or given up. */
  hold<T>(label: string, run: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const id = this.#next++;
      const drop = () => this.set(this.get().filter((action) => action.id !== id));
      const action: HeldAction = {
        id,
        label,
        again: () => {
          const outcome = run(); // first: it is under way before it is no longer held
          drop();
          outcome.then(resolve, reject);
        },
        abandon: () => {
          drop();
          reject(new ActionAbandoned(label));
        },
      };
      this.set([...this.get(), action]);
    });
  }
}
