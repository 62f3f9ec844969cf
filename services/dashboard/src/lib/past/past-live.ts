/** The fleet at a moment of the past, in the shape in which screens know the present. It does not move. */
import { FleetStore } from "../live/fleet";
import { Frames } from "../live/frame";
import type { LiveStatus, LiveView } from "../live/live";
import { Tally } from "../live/tally";
import { Observable } from "../session/observable";
import { fillFleet, type KnownOfPast } from "./fill-fleet";

export class PastLive implements LiveView {
  readonly status = new Observable<LiveStatus>({ phase: "loading", devices: 0 });
  readonly frames: Frames;
  readonly fleet: FleetStore;
  readonly stale = new Observable<ReadonlySet<string>>(new Set());
  readonly tally = new Tally();

  constructor(frames = new Frames()) {
    this.frames = frames;
    this.fleet = new FleetStore(frames);
  }

  show(known: KnownOfPast): void {
    fillFleet(this.fleet, known);
    this.status.set({ phase: "live" });
  }

  clear(): void {
    this.fleet.clear();
    this.tally.clear();
    this.status.set({ phase: "loading", devices: 0 });
  }

  /** There is no line to try. */
  retryNow(): void {}

  /** Nothing is told of the past. */
  overlay(): undefined {}
}
