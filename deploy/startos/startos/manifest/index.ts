import { setupManifest } from '@start9labs/start-sdk'

export const manifest = setupManifest({
  id: 'paylink',
  title: 'Paylink',
  license: 'MIT',
  packageRepo: 'https://paylink.example/source',
  upstreamRepo: 'https://paylink.example/source',
  marketingUrl: 'https://paylink.example',
  donationUrl: null,
  description: {
    short: 'Take payments in BTC, LTC, ETH, USDC and SOL without a middleman',
    long: 'Create invoices and payment links priced in US dollars. Buyers pay on a hosted page, and a signed webhook notifies your shop. Starts with test coins; Settings adds your nodes for real money.',
  },
  volumes: ['main'],
  images: {
    paylink: {
      source: { dockerBuild: { workdir: '../..', dockerfile: '../../Dockerfile' } },
      arch: ['x86_64', 'aarch64'],
    },
  },
  dependencies: {},
})
