import { ModuleProvider, Modules } from '@medusajs/framework/utils'
import { PaylinkProvider } from './service.js'

export type { PaylinkOptions } from './options.js'

export default ModuleProvider(Modules.PAYMENT, { services: [PaylinkProvider] })
