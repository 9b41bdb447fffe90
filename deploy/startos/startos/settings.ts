import { FileHelper, z } from '@start9labs/start-sdk'
import { sdk } from './sdk'

/** What `paylink start` reads, as docs/operating.md names it. */
const shape = z.object({
  SECRET_KEY: z.string(),
  BASE_URL: z.string().catch(''),
  LIVE_BITCOIN_RPC_URL: z.string().catch(''),
  LIVE_LITECOIN_RPC_URL: z.string().catch(''),
  LIVE_ETHEREUM_RPC_URL: z.string().catch(''),
  LIVE_BASE_RPC_URL: z.string().catch(''),
  LIVE_ARBITRUM_RPC_URL: z.string().catch(''),
  LIVE_POLYGON_RPC_URL: z.string().catch(''),
  LIVE_SOLANA_RPC_URL: z.string().catch(''),
  SMTP_URL: z.string().catch(''),
})
export type Settings = z.output<typeof shape>

/** In the volume, so that a backup has it. */
export const settings = FileHelper.env<Settings>(
  { base: sdk.volumes.main, subpath: 'settings.env' },
  shape,
)

export const mounts = sdk.Mounts.of().mountVolume({
  volumeId: 'main',
  subpath: null,
  mountpoint: '/data',
  readonly: false,
})

/** An empty value is one that is not set. */
export const environmentOf = (values: Settings): { [name: string]: string } => ({
  ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')),
  DATA_DIR: '/data/paylink',
  SIGN_UP: 'closed',
})
