import { Snippet } from './copy.tsx'
import { Card } from './page.tsx'

/** A resource as the API gives it. */
export function RawCard({ path, resource }: { path: string; resource: unknown }) {
  return (
    <Card title="API response">
      <details>
        <summary>Raw JSON</summary>
        <Snippet label={`GET /api/v1${path}`} code={JSON.stringify(resource, null, 2)} />
      </details>
    </Card>
  )
}
