import { useState } from 'react'
import { Icon } from './icons.tsx'

/** A search of a list, applied by Enter or by leaving the field; undefined is everything. */
export function SearchBox({
  label,
  placeholder,
  value,
  onSearch,
}: {
  label: string
  placeholder: string
  value: string | undefined
  onSearch: (text: string | undefined) => void
}) {
  // Null: nothing was typed since the last search.
  const [typed, setTyped] = useState<string | null>(null)
  const apply = () => {
    const wanted = (typed ?? value ?? '').trim()
    if (wanted !== (value ?? '')) onSearch(wanted === '' ? undefined : wanted)
    setTyped(null)
  }
  return (
    <form
      className="search-box"
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <Icon name="search" />
      <input
        className="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={typed ?? value ?? ''}
        maxLength={255}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={apply}
      />
    </form>
  )
}
