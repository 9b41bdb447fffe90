import { PORT } from './interfaces'
import { sdk } from './sdk'
import { environmentOf, mounts, settings } from './settings'

export const main = sdk.setupMain(async ({ effects }) => {
  const values = await settings.read().const(effects)
  if (values === null) throw new Error('settings.env is missing: reinstall, or restore a backup')
  const subcontainer = sdk.SubContainer.of(effects, { imageId: 'paylink' }, mounts, 'paylink')
  return sdk.Daemons.of(effects)
    .addOneshot('own', {
      subcontainer,
      exec: { command: ['install', '-d', '-o', 'node', '-g', 'node', '-m', '0700', '/data/paylink'], user: 'root' },
      requires: [],
    })
    .addDaemon('paylink', {
      subcontainer,
      exec: {
        command: ['node', '/app/dist/main.js', 'start'],
        cwd: '/app',
        user: 'node',
        env: { ...environmentOf(values), HOST: '0.0.0.0', PORT: String(PORT) },
        sigtermTimeout: 45_000,
      },
      ready: {
        display: 'Dashboard and checkout',
        gracePeriod: 60_000,
        fn: () =>
          sdk.healthCheck.checkWebUrl(effects, `http://127.0.0.1:${PORT}/readyz`, {
            successMessage: 'Ready',
            errorMessage: 'Not ready yet',
          }),
      },
      requires: ['own'],
    })
})
