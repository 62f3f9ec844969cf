/** Who did something, in English. */

export const actors = {
  you: "You",
  person: (id: string) => `Person ${id}`,
  phone: (serial: string) => `Phone ${serial}`,
  session: (id: string) => `Session ${id}`,
  /** An actor that is one of Drover's own processes. */
  service: (name: string) => `${name} service`,
  programs: {
    cli: "Command line",
    clock: "Clock",
    service_role: "Service key",
    anon: "Anon key",
    up: "drover up",
    presence: "Presence monitor",
  },
};
