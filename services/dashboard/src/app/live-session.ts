/** One live feed for whoever is signed in: begins with a session, survives its renewal, ends with it. */
import { Live } from "@/lib/live/live";
import type { SessionClient } from "@/lib/session/client";
import { may } from "@/lib/session/may";
import { Observable } from "@/lib/session/observable";
import type { User } from "@/lib/session/session";

export interface Current {
  readonly live: Live;
  readonly user: User;
}

export class LiveSession extends Observable<Current | null> {
  readonly #client: SessionClient;

  constructor(client: SessionClient) {
    super(null);
    this.#client = client;
    client.state.subscribe(() => this.#follow());
    this.#follow();
  }

  #follow(): void {
    const state = this.#client.state.get();
    const current = this.get();
    if (state.status === "signed-in") {
      if (current?.user.id === state.user.id && current.user.role === state.user.role) {
        current.live.start(); // where it had stopped with the session before
        return;
      }
      current?.live.stop();
      const live = new Live(this.#client, { seesAlarms: may(state.user.role, "see-alarms") });
      live.start();
      this.set({ live, user: state.user });
    } else if (state.status === "signed-out") {
      current?.live.stop();
      this.set(null);
    }
  }
}
