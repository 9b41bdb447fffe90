import { ASSET_IDS, ASSETS, type AssetId } from './assets.ts'

/** The assets as people read them: the networks of one coin beside each other, so that nobody overlooks that there are several. */
export const ASSETS_BY_COIN: readonly AssetId[] = [
  ...new Set(ASSET_IDS.map((id) => ASSETS[id].symbol)),
].flatMap((symbol) => ASSET_IDS.filter((id) => ASSETS[id].symbol === symbol))
