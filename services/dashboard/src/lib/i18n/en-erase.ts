/** Erasing people and renders, in English. */

export const erase = {
  open: "Erase…",
  forEver: "This cannot be undone.",
  users: {
    title: "Erase this user?",
    lead: "Their reminders are deleted. Nobody will be able to read their texts, push subscriptions and addresses, not even in backups. If they have an account here, it is removed.",
    yes: "Erase this user",
    done: (name: string) => `${name} is erased.`,
  },
  renders: {
    title: "Erase the input data of this render?",
    lead: "Nobody will be able to read it, not even in backups. The rendered file stays: remove it from the NAS.",
    yes: "Erase the input data",
    done: (name: string) => `The input data of ${name} is erased.`,
  },
};
