// @module-tag bitcoind
import { describeWalletPayments } from './wallet-payments.ts'

describeWalletPayments('a Bitcoin wallet, its node telling by ZeroMQ', {
  chain: 'bitcoin',
  asset: 'BTC',
  zmq: true,
})
describeWalletPayments('a Bitcoin wallet, its node being asked', {
  chain: 'bitcoin',
  asset: 'BTC',
  zmq: false,
})
