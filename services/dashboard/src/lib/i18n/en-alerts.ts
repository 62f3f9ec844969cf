/** Alerts of all contexts but the fleet's, in English. */

export const alertKinds = {
  no_render_worker: {
    title: "No render worker is running",
    advice: "Renders wait and nobody claims them. Start a render worker, or check why those that should run do not.",
  },
  nexrender_down: {
    title: "nexrender is not responding",
    advice: "Restart it or check the network. Workers resume automatically; run failed renders again.",
  },
  nexrender_refused: {
    title: "nexrender rejects jobs",
    advice: "Check its secret and the error that it returned for the job.",
  },
  template_missing: {
    title: "Template not found",
    advice: "Put the file into the template folder or correct its name in the mapping. Then run the render again.",
  },
  mapping_missing: {
    title: "Composition has no mapped fields",
    advice: "None of the requested fields has a layer. Map the fields, then run the render again.",
  },
  gfx_data_unreadable: {
    title: "Input data of a render is unreadable",
    advice: "The key that sealed it is missing or wrong. Check the sealing keys.",
  },
  render_failed: {
    title: "Render failed",
    advice: "Check its error message, fix the cause, then run it again.",
  },
  render_timeout: {
    title: "Render timed out",
    advice: "It was tried three times, 30 minutes each. Check the render machine and the composition.",
  },
  nas_away: {
    title: "NAS is not writable",
    advice: "Check its mount and its free space, then run failed renders again.",
  },
  render_recovering: {
    title: "Render keeps losing its workers",
    advice: "More than three workers were lost while they rendered it. Check what is special about it, or cancel it.",
  },
  render_not_stopped: {
    title: "nexrender job could not be stopped",
    advice: "Drover has stopped retrying. Remove the job in nexrender; its files are cleaned up automatically.",
  },
  cleanup_failed: {
    title: "Cleanup failed",
    advice: "Stalled tests are not refunded. Check the skipped ones and the service.",
  },
  push_failing: {
    title: "Reminders are not being sent",
    advice: "Many in a row have failed: check the provider. They are retried automatically.",
  },
  minute_crowded: {
    title: "Two reminders of a user share a minute",
    advice: "No free minute was found. Nothing is lost.",
  },
  refresh_token_reused: {
    title: "A session may have been copied",
    advice:
      "Its refresh token was used twice, so the session was ended. Ask the user to sign in again and change the password.",
  },
};

export const alertLinks = {
  showRender: "Show the render",
  showMapping: "Show the mapping",
  showAnalyses: "Show the analyses",
  showReminders: "Show the reminders",
  showAccount: "Show the account",
};
