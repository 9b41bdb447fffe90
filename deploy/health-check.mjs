// Exit code 0 where this container's process answers: the site's /readyz, or with the word `figures` the figures on
// OPERATOR_PORT, for roles that serve no site. Plain Node, so that it starts in a moment.
const ANSWER_MS_MAX = 4_000

const { HOST, PORT = '3000', OPERATOR_HOST, OPERATOR_PORT = '' } = process.env
const reached = (host) => (host === undefined || host === '0.0.0.0' ? '127.0.0.1' : host)
const url =
  process.argv[2] === 'figures'
    ? `http://${reached(OPERATOR_HOST)}:${OPERATOR_PORT}/metrics`
    : `http://${reached(HOST)}:${PORT}/readyz`
try {
  const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
  if (response.status !== 200) {
    console.error(`${url} answered ${response.status}`)
    process.exitCode = 1
  }
} catch (error) {
  console.error(`${url} did not answer: ${error.cause?.message ?? error.message}`)
  process.exitCode = 1
}
