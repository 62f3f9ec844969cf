// One job of a nexrender worker: what its own `instance.js` says to the server, around the real `@nexrender/core`.
// Only After Effects is a stand-in. Arguments: server, secret, working folder, stand-in for aerender.
const { render } = require('@nexrender/core')
const { getRenderingStatus } = require('@nexrender/types/job')

const [, , server, secret, workpath, binary] = process.argv
const quiet = () => {}
const settings = {
  __initialized: true, // `init` looks for After Effects, and tells its makers of each start
  logger: { log: quiet, error: quiet },
  track: quiet,
  trackCombined: quiet,
  trackSync: quiet,
  workpath,
  binary,
  stopOnError: true,
  skipCleanup: false,
  maxUpdateTimeout: 60,
}

const call = async (method, path, body) => {
  const headers = { 'nexrender-secret': secret, 'content-type': 'application/json' }
  const answer = await fetch(`${server}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

const main = async () => {
  let job = await call('GET', '/jobs/pickup')
  let told = Promise.resolve() // one word after the other: on a busy machine a later one can overtake an earlier one
  const tell = () => {
    const status = getRenderingStatus(job)
    return (told = told.then(() => call('PUT', `/jobs/${job.uid}`, status)))
  }
  job.state = 'started'
  await call('PUT', `/jobs/${job.uid}`, job)
  job.onRenderProgress = tell
  try {
    job = await render(job, settings)
    job.state = 'finished'
  } catch (error) {
    job.error = [].concat(job.error || [], [error.toString()])
    job.state = 'error'
  }
  await tell()
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
