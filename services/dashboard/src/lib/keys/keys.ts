/** Shortcuts: single keys, keys with Ctrl or Cmd, and two keys one after the other (`g f`). */

export type Bindings = Readonly<Record<string, () => void>>;

/** Between the two keys of a pair. */
export const PAIR_WITHIN_MS = 1_200;

export interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly isTyping: boolean;
}

export class Keyboard {
  readonly #bindings: Bindings[] = [];
  #first: { readonly key: string; readonly at: number } | null = null;

  /** Later ones come first. Returns how to take them back. */
  bind(bindings: Bindings): () => void {
    this.#bindings.unshift(bindings);
    return () => {
      this.#bindings.splice(this.#bindings.indexOf(bindings), 1);
    };
  }

  /** Returns whether the key was used. `now`: when it was pressed, in milliseconds of any clock. */
  press(pressed: Pressed, now: number): boolean {
    const name = nameOf(pressed);
    const first = this.#first !== null && now - this.#first.at <= PAIR_WITHIN_MS ? this.#first.key : null;
    this.#first = null;
    if (name === null || (pressed.isTyping && !name.startsWith("mod+"))) return false;
    const action = (first !== null ? this.#find(`${first} ${name}`) : undefined) ?? this.#find(name);
    if (action === undefined) {
      this.#first = { key: name, at: now };
      return false;
    }
    action();
    return true;
  }

  #find(name: string): (() => void) | undefined {
    return this.#bindings.find((bindings) => Object.hasOwn(bindings, name))?.[name];
  }
}

function nameOf({ key, ctrlKey, metaKey, altKey }: Pressed): string | null {
  if (altKey || key.length === 0) return null;
  const plain = key.length === 1 ? key.toLowerCase() : key;
  return ctrlKey || metaKey ? `mod+${plain}` : plain;
}
