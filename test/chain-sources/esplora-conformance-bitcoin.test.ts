// @module-tag bitcoind
import { describeChainConformance } from '../chain-conformance/suite.ts'
import { esploraDriver } from '../support/esplora-driver.ts'

describeChainConformance(esploraDriver('bitcoin'))
