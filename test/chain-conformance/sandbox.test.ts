import { sandboxDriver } from '../support/sandbox-driver.ts'
import { describeChainConformance } from './suite.ts'

describeChainConformance(sandboxDriver)
