/** What people do with phones, one or many: reset, register, move. */
import { acceptedIds, acceptedPlaces, inBulk, type Report } from "./bulk";
import { patch, withBody } from "./commands";
import type { Server } from "./read";

export function resetInBulk(server: Server, ids: readonly string[], key: string): Promise<Report> {
  return change(server, ids, { error: null }, key);
}

/** Where phones are: on which PC, in which group. What is left out stays. */
export interface Place {
  readonly pc_id?: string;
  readonly group_id?: string;
}

/** A phone that has work keeps its PC: the server refuses. */
export function moveInBulk(server: Server, ids: readonly string[], place: Place, key: string): Promise<Report> {
  return change(server, ids, place, key);
}

/** By serial number. Those that are registered already are refused, and stay as they are. */
export function registerInBulk(server: Server, serials: readonly string[], place: Required<Place>, key: string) {
  return inBulk(
    serials,
    {
      some: (part, partKey) => {
        const rows = part.map((serial_number) => ({ serial_number, ...place }));
        return server.request("/rest/v1/devices", withBody("POST", rows, partKey));
      },
      accepted: acceptedPlaces,
    },
    key,
  );
}

function change(server: Server, ids: readonly string[], body: object, key: string): Promise<Report> {
  return inBulk(
    ids,
    { some: (part, partKey) => patch(server, "devices", part, body, partKey), accepted: acceptedIds },
    key,
  );
}
