import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useEnter } from '../app/enter.ts'
import { openShop } from '../app/first-steps.ts'
import { AuthCard } from '../parts/auth-card.tsx'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'

/** For whoever is signed in and belongs to no shop. */
export function NewShopPage() {
  const [name, setName] = useState('')
  const enter = useEnter()
  const open = useMutation({ mutationFn: () => openShop(name.trim()), onSuccess: () => enter() })
  return (
    <AuthCard
      title="Open a shop"
      lead="You belong to no shop yet. Open one, or follow the link of an invitation."
    >
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          open.mutate()
        }}
      >
        <Field
          label="Shop name"
          name="shop"
          required
          maxLength={120}
          hint="Your buyers see it. You can change it later."
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <ProblemNote error={open.error} />
        <Button type="submit" look="primary" busy={open.isPending}>
          Open my shop
        </Button>
      </form>
      <p className="auth-links">
        <Link to="/sign-in" search={{}}>
          Sign in with another account
        </Link>
      </p>
    </AuthCard>
  )
}
