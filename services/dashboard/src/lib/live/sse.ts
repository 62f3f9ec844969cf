/** Server-sent events as bytes become events. Comments are signs of life; their ids are kept like any other. */

export interface ServerEvent {
  /** Its own, or the last one before it. */
  readonly id: string | undefined;
  readonly name: string;
  readonly data: string;
}

export class SseParser {
  /** The last id that was sent: who comes back with it has missed nothing. */
  lastId: string | undefined;
  #rest = "";
  readonly #decoder = new TextDecoder();

  /** The events that these bytes complete. */
  take(bytes: Uint8Array): ServerEvent[] {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    const events: ServerEvent[] = [];
    let from = 0;
    for (let end = this.#rest.indexOf("\n\n", from); end !== -1; end = this.#rest.indexOf("\n\n", from)) {
      const event = this.#read(this.#rest.slice(from, end));
      if (event !== null) events.push(event);
      from = end + 2;
    }
    this.#rest = this.#rest.slice(from);
    return events;
  }

  #read(block: string): ServerEvent | null {
    let name = "message";
    let data = "";
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon <= 0) continue;
      const value = line.charAt(colon + 1) === " " ? line.slice(colon + 2) : line.slice(colon + 1);
      const field = line.slice(0, colon);
      if (field === "id") this.lastId = value;
      else if (field === "event") name = value;
      else if (field === "data") data = data === "" ? value : `${data}\n${value}`;
    }
    return data === "" ? null : { id: this.lastId, name, data };
  }
}
