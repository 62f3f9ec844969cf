/** How a generated row becomes the one that screens use: nothing in it is changed, JSON has the form that is known. */

/** Lists are readonly, too. */
export type Row<T> = { readonly [K in keyof T]: T[K] extends (infer I)[] ? readonly I[] : T[K] };

/** With the form of its JSON columns, of which the contract says nothing. */
export type WithJson<T, J> = Omit<Row<T>, keyof J> & Readonly<J>;

export type Json = Readonly<Record<string, unknown>>;
