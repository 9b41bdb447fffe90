import { sdk } from './sdk'
import { environmentOf, mounts, settings } from './settings'

const { InputSpec, Value } = sdk

const node = (name: string) =>
  Value.text({ name, description: 'Its RPC URL. Empty: off', required: false, default: null, masked: true })

const settingsForm = InputSpec.of({
  BASE_URL: Value.text({
    name: 'Address of your pages',
    description: 'An origin such as https://pay.example.com. Empty: this server alone',
    required: false,
    default: null,
  }),
  LIVE_BITCOIN_RPC_URL: node('Bitcoin node'),
  LIVE_LITECOIN_RPC_URL: node('Litecoin node'),
  LIVE_ETHEREUM_RPC_URL: node('Ethereum node'),
  LIVE_BASE_RPC_URL: node('Base node'),
  LIVE_ARBITRUM_RPC_URL: node('Arbitrum One node'),
  LIVE_POLYGON_RPC_URL: node('Polygon node'),
  LIVE_SOLANA_RPC_URL: node('Solana node'),
  SMTP_URL: Value.text({
    name: 'Mail server',
    description: 'As in smtps://user:password@mail.example.com',
    required: false,
    default: null,
    masked: true,
  }),
})

const changeSettings = sdk.Action.withInput(
  'settings',
  {
    name: 'Settings',
    description: 'Nodes for real money, mail, and the address of your pages',
    warning: null,
    allowedStatuses: 'any',
    group: null,
    visibility: 'enabled',
  },
  settingsForm,
  async () => (await settings.read().once()) ?? {},
  async ({ effects, input }) => {
    const given = Object.fromEntries(Object.entries(input).map(([name, value]) => [name, value ?? '']))
    await settings.merge(effects, given)
    return null
  },
)

const createShop = sdk.Action.withInput(
  'create-shop',
  {
    name: 'Create a shop',
    description: 'Makes a shop and its owner, and shows the link with which the owner sets a password',
    warning: null,
    allowedStatuses: 'only-running',
    group: null,
    visibility: 'enabled',
  },
  InputSpec.of({
    name: Value.text({ name: 'Name of the shop', required: true, default: null }),
    email: Value.text({ name: 'Email of its owner', required: true, default: null, inputmode: 'email' }),
  }),
  async () => ({}),
  async ({ effects, input: { name, email } }) => {
    const values = await settings.read().once()
    if (values === null) throw new Error('settings.env is missing: reinstall, or restore a backup')
    const command = ['node', '/app/dist/main.js', 'merchant', 'create', '--name', name, '--email', email]
    const { stdout } = await sdk.SubContainer.withTemp(
      effects,
      { imageId: 'paylink' },
      mounts,
      'create-shop',
      (container) => container.execFail(command, { user: 'node', env: environmentOf(values) }),
    )
    return {
      version: '1',
      title: 'Your shop',
      message: 'Open the link to set a password',
      result: { type: 'single', value: stdout.toString(), copyable: true, qr: false, masked: true },
    }
  },
)

export const actions = sdk.Actions.of().addAction(changeSettings).addAction(createShop)
