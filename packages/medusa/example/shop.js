// A shop in euros on Medusa, with one product and a page to buy it at /shop:
//   DATABASE_URL=postgresql://… SHOP_SECRET=… PAYLINK_URL=http://localhost:3000 PAYLINK_API_KEY=sk_test_… \
//     PAYLINK_WEBHOOK_SECRET=whsec_… node example/shop.js
const { spawnSync } = require('node:child_process')

// Medusa looks for its modules from the folder that it runs in.
const directory = __dirname
process.chdir(directory)
const PORT = Number(process.env.PORT ?? 9000)

/** A command of Medusa's in a process of its own, for each ends its process. */
function command(name, options) {
  const call = `require('@medusajs/medusa/commands/${name}').default(${JSON.stringify({ directory, ...options })})`
  const { status } = spawnSync(process.execPath, ['-e', call], { cwd: directory, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

command('db/migrate', { executeAllLinks: true, skipSearch: true, skipScripts: true })
command('exec', { file: 'stock-shop.js', args: [] })
require('@medusajs/medusa/commands/start').default({ directory, port: PORT, types: false })
