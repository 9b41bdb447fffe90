import { randomBytes } from 'node:crypto'
import { actions } from './actions'
import { restoreInit } from './backups'
import { setInterfaces } from './interfaces'
import { sdk } from './sdk'
import { settings } from './settings'
import { versions } from './versions'

/** Once: a key that opens what is sealed. A restored backup brings its own. */
const makeSecretKey = sdk.setupOnInit(async (effects, kind) => {
  if (kind !== 'install') return
  await settings.merge(effects, { SECRET_KEY: randomBytes(32).toString('hex') })
})

export const init = sdk.setupInit(restoreInit, versions, makeSecretKey, setInterfaces, actions)
export const uninit = sdk.setupUninit(versions)
