import { spawn } from 'node:child_process'

/**
 * `npm run dev`: compiles and builds the pages on every change and, when that went well, starts the program anew. The
 * program stops as it does in production, so that its data is whole at each restart.
 */

const compiler = spawn(
  'node_modules/.bin/tsc',
  ['-p', 'tsconfig.build.json', '--watch', '--preserveWatchOutput'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
)
const dashboard = spawn(process.execPath, ['scripts/build-web.mjs', '--watch'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
let program = null
let restarting = false

compiler.stdout.setEncoding('utf8')
compiler.stdout.on('data', (text) => {
  process.stderr.write(text)
  if (/Found 0 errors/.test(text)) restart()
})
dashboard.stdout.on('data', () => {
  // The first build may end before the compiler is done; the start belongs to the compiler.
  if (program !== null) restart()
})
compiler.on('exit', (code) => process.exit(code ?? 1))

function restart() {
  if (restarting) return
  if (program === null) return start()
  restarting = true
  program.once('exit', () => {
    restarting = false
    start()
  })
  program.kill('SIGTERM')
}

function start() {
  const started = spawn(
    process.execPath,
    ['--enable-source-maps', 'dist/main.js', 'start', ...process.argv.slice(2)],
    {
      stdio: 'inherit',
    },
  )
  started.once('exit', () => {
    if (program === started) program = null
  })
  program = started
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    compiler.removeAllListeners('exit')
    compiler.kill()
    dashboard.kill()
    if (program === null) process.exit(0)
    program.once('exit', () => process.exit(0))
    // A terminal sends Ctrl-C to the whole group; a kill of this process alone must reach the program too.
    if (signal === 'SIGTERM') program.kill('SIGTERM')
  })
}
