/** The icon of pages that are one request, as a URL. */
export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%232b50d8'/%3E%3Cpath d='M9 17l5 5 10-11' fill='none' stroke='%23fff' stroke-width='3.5' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E"

/** The same on 180 × 180 pixels, to the edges, for home screens that take no SVG and round the corners themselves. */
export const ICON_PNG = Buffer.from(
  [
    'iVBORw0KGgoAAAANSUhEUgAAALQAAAC0BAMAAADP4xsBAAAAMFBMVEX///8rUNiGm+l/lujd4/nv8vzM1fZZduFshuT5+v4x',
    'VdpIaN47Xdu5xfKouPCVp+xyzM3SAAAACXBIWXMAAAsTAAALEwEAmpwYAAAChElEQVRo3u3ZP08UQRjH8ScHYizADJvISs6w',
    '1DZbW52dlbGhosGWiisJ1RYWFgQTE6kpjY0UZ2/iG6C3oLCxMfIORDxghp1n9nlmn7X6TX+fPLe73/1LbrBFoEGDBg0aNGjQ',
    'oEGDBg0aNGjQoEH3W+WPrZfNIHQ5IaLFZgj6N/1dDwegN+jfurCnqzl935wu5zItmdP71zRNjem1Vzf0hTE9u5HptS09ntzS',
    'z23pbzQUvb7j0Wem9BNPNt6N5z59aklv+PKyaTK1T29b0qUvP2gs6X2fXrA8qXqNX65NS3rmyyuWFzC/8VgvPWi/cVo6MaSD',
    'xmnX8mYhaHzxqyV93pFLPh00fm9qSQeNH1vemAWNU2NJdzaeTXc3nk13N55LCxrPpQWNp+lPByf5jSfpw3f04Vl24yn6y9Xv',
    'prmNJ+j54fW+s/FTNT3jj9lK0niCvt5TI/11vIMu+dTeihrn6duDYJTXOE8/Zn8tbJynPxMztrRxnt7j/rS0cdHUwdjixnn6',
    'I7OvxI3z9COKjy1unKcLio4tb5yn1yfRseWNJ0Lfi42taDxBh1tkpG48db6u22NrGk/RkbE1jScvYK2xVY0n6dbYqsbTV/Q7',
    'Y+saT9N3xtY13nGLEwRCO6rGO+hwbMm9uvzGrOboY9eXZsdu+r+uZcZecP1pZuxNi5fM0bFXnAW9GqPPbF6NV21Z1LiAjmzt',
    'XWf0Qr+1tWWNS+jW2NvO7DNEndW4iC6yGpc93FXK67iCLnIaFz6S1hmNC+kio3Hpg3Stb1xKF/rGxY//lbpxMb2qblz+0uLN',
    'Ff3dDUCPf17KL9wgnzLHR7+eOnzbBQ0aNGjQoEGDBg0aNGjQoEH/P/oPe0UhFR4RBOoAAAAASUVORK5CYII=',
  ].join(''),
  'base64',
)
