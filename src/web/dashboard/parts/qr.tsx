import { encode } from 'uqr'
import { Button } from './button.tsx'
import { saveFile } from './save-file.ts'

/** The quiet zone that scanners need (ISO/IEC 18004). */
const BORDER = 4

/** Black on white in both colour schemes. With `fileName` it can be saved as a PNG of that name. */
export function QrCode({ text, label, fileName }: { text: string; label: string; fileName?: string }) {
  const { data, size } = encode(text, { border: BORDER })
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return (
    <>
      <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
        <rect width={size} height={size} fill="#fff" />
        <path d={path} fill="#000" />
      </svg>
      {fileName === undefined ? null : (
        <Button small onClick={() => save(text, fileName)}>
          Download PNG
        </Button>
      )}
    </>
  )
}

/** Pixels a module: some 600 a side, sharp on a printed page. */
const MODULE_PX = 16

function save(text: string, fileName: string): void {
  drawing(text).toBlob((file) => {
    if (file === null) throw new Error('the browser cannot make a picture')
    saveFile(fileName, file)
  })
}

function drawing(text: string): HTMLCanvasElement {
  const { data, size } = encode(text, { border: BORDER })
  const canvas = document.createElement('canvas')
  canvas.width = size * MODULE_PX
  canvas.height = size * MODULE_PX
  const pen = canvas.getContext('2d')
  if (pen === null) throw new Error('the browser cannot draw')
  pen.fillStyle = '#fff'
  pen.fillRect(0, 0, canvas.width, canvas.height)
  pen.fillStyle = '#000'
  for (const [y, row] of data.entries()) {
    for (const [x, isDark] of row.entries())
      if (isDark) pen.fillRect(x * MODULE_PX, y * MODULE_PX, MODULE_PX, MODULE_PX)
  }
  return canvas
}
