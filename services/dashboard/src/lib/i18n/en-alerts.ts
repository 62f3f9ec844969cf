/** Alerts of all contexts but the fleet's, in English. */

export const alertKinds = {
  nexrender_down: {
    title: "nexrender does not answer",
    advice: "Start it again, or look at the network to it. Workers go on by themselves; run again what has failed.",
  },
  nexrender_refused: {
    title: "nexrender refuses jobs",
    advice: "Look at its secret, and at what it says about the job.",
  },
  template_missing: {
    title: "A template is missing",
    advice: "Put the file into the template folder, or correct its name in the mapping. Then run the render again.",
  },
  mapping_missing: {
    title: "A composition has no fields",
    advice: "Nothing of what was to be drawn has a layer. Give its fields layers, then run the render again.",
  },
  gfx_data_unreadable: {
    title: "A render's data cannot be read",
    advice: "The key that it was sealed with is missing, or it is not what it should be. Look at the sealing keys.",
  },
  render_timeout: {
    title: "A render takes too long",
    advice: "It was tried three times, for 30 minutes each. Look at the render machine and at the composition.",
  },
  nas_away: {
    title: "The NAS cannot be written to",
    advice: "Look at its mount and its free space. Run again what has failed.",
  },
  render_recovering: {
    title: "A render loses its workers",
    advice: "More than three had it and were lost. Look at what is special about it, or cancel it.",
  },
  render_not_stopped: {
    title: "A job at nexrender could not be stopped",
    advice: "Nobody tries any more. Remove it at nexrender; its files are swept.",
  },
  cleanup_failed: {
    title: "A cleanup failed",
    advice: "Stalled tests are not given back. Look at those that were skipped, and at the service.",
  },
  push_failing: {
    title: "Reminders are not sent",
    advice: "Many in a row have failed: look at the provider. They are tried again by themselves.",
  },
  minute_crowded: {
    title: "Two reminders of a user share a minute",
    advice: "No free minute was found. Nothing is lost.",
  },
  refresh_token_reused: {
    title: "A session may have been copied",
    advice:
      "Its refresh token was used twice, and it was ended. Ask its person to sign in again and change the password.",
  },
};

export const alertLinks = {
  showRender: "Show the render",
  showMapping: "Show the mapping",
  showAnalyses: "Show the analyses",
  showReminders: "Show the reminders",
  showAccount: "Show the account",
};
