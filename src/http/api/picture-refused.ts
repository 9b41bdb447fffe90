/** Why a logo or a till's picture was not taken. */
export const PICTURE_REFUSED = {
  too_large: 'The picture is too large.',
  not_a_picture: 'Must be a PNG, JPEG or WebP picture.',
  too_many_pixels: 'The picture has too many pixels.',
}
