import { expect, test } from 'vitest'
import { PUBLIC_PROVIDERS } from '../../../cli/setup/providers.ts'
import { CHAINS } from '../../../core/assets.ts'
import { PUBLIC_CHAINS, setupCommandFor } from './setup-command.ts'

const ANSWERS = {
  shop: "Ann's tea; shop",
  email: 'ann@shop.example',
  coins: new Set(['BTC', 'USDC_BASE'] as const),
  baseUrl: 'https://pay.shop.example',
  publicChains: new Set(['base', 'solana'] as const),
  signerKeyFile: '',
  signUp: 'closed',
  backupTo: '/mnt/my backups',
} as const

test('the command has every answer, quoted for a shell, and leaves out what setup asks for itself', () => {
  expect(setupCommandFor(ANSWERS).split(' \\\n  ')).toEqual([
    'npm run -s paylink -- setup',
    `--name 'Ann'\\''s tea; shop'`,
    '--email ann@shop.example',
    '--mode live',
    '--coins BTC,USDC_BASE',
    '--base-url https://pay.shop.example',
    '--live-base-rpc-url public',
    '--sign-up closed',
    `--backup-to '/mnt/my backups'`,
  ])
})

test('public providers are offered where setup knows them', () => {
  expect(PUBLIC_CHAINS).toEqual(CHAINS.filter((chain) => PUBLIC_PROVIDERS[chain] !== ''))
})
