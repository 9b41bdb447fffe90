// @module-tag litecoind
import { describeWalletPayments } from './wallet-payments.ts'

describeWalletPayments('a Litecoin wallet, its node made without the ZeroMQ that is configured', {
  chain: 'litecoin',
  asset: 'LTC',
  zmq: true,
  isSilent: true,
})
