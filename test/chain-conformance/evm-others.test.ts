import { ASSET_IDS, ASSETS } from '../../src/core/assets.ts'
import { isEvmChain } from '../../src/core/chain/evm-networks.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { driversOfOwnFiles, FORM } from './own-files.ts'
import { describeChainConformance } from './suite.ts'

const own = await driversOfOwnFiles()

for (const asset of ASSET_IDS)
  if (isEvmChain(ASSETS[asset].chain) && !own.has(`evmDriver('${asset}')`))
    describeChainConformance(evmDriver(asset), FORM)
