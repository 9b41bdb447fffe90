/** A sentence for every kind of number that a language tells apart (Unicode CLDR plural categories). */
export type Plural = { readonly other: string } & { readonly [category in Intl.LDMLPluralRule]?: string }
