import { describeWalletPayments } from './wallet-payments.ts'

describeWalletPayments('a Litecoin wallet', {
  chain: 'litecoin',
  asset: 'LTC',
  zmq: true,
})
