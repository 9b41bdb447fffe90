import { ASSET_IDS, ASSETS } from '../../src/core/assets.ts'
import { solanaDriver } from '../support/solana-driver.ts'
import { driversOfOwnFiles, FORM } from './own-files.ts'
import { describeChainConformance } from './suite.ts'

const own = await driversOfOwnFiles()

for (const way of ['blocks', 'accounts'] as const)
  for (const asset of ASSET_IDS)
    if (ASSETS[asset].chain === 'solana' && !own.has(`solanaDriver('${way}', '${asset}')`))
      describeChainConformance(solanaDriver(way, asset), FORM)
