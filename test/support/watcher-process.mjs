/**
 * A watcher in a process of its own, out of the build that `npm test` makes first. Its one argument is JSON:
 * `{ recipe, databaseUrl, addresses }`, the recipe as `ChainDriver` tells it and the addresses in hex. Says so once
 * it stands at the tip for the first time, and then goes on until it is killed. SIGUSR2 asks how much memory it took.
 */
const { recipe, databaseUrl } = JSON.parse(process.argv[2])
const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url))
const [{ startWatcher }, { openPool }, { createLogger }, made] = await Promise.all([
  load('watcher/start-watcher.js'),
  load('postgres/pool.js'),
  load('runtime/log.js'),
  load(recipe.module),
])
const clock = () => new Date()
const adapter = new made[recipe.name]({ ...recipe.options, clock })
startWatcher([
  {
    adapter,
    pool: openPool({
      connectionString: databaseUrl,
      applicationName: 'paylink-killed',
      max: 10,
      onError: () => {},
    }),
    connectionString: databaseUrl,
    clock,
    log: createLogger('silent'),
    notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
    observer: { onPass: () => process.stdout.write('stands at the tip\n') },
  },
])
process.on('SIGUSR2', () => process.stdout.write(`most memory ${process.resourceUsage().maxRSS} KiB\n`))
