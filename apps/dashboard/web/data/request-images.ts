/** Images that browsers draw without running anything. */
const imageUrl = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;

const mediaTypes: readonly unknown[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** The inline images of a request, as `data:` URLs in order. Images at other addresses are not loaded. */
export function requestImages(requestBody: string): readonly string[] {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (imageUrl.test(value)) found.push(value);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    const { type, media_type: mediaType, data } = value as Readonly<Record<string, unknown>>;
    // Anthropic's images have the type and the data apart.
    if (type === 'base64' && mediaTypes.includes(mediaType)) visit(`data:${String(mediaType)};base64,${String(data)}`);
    else for (const child of Object.values(value)) visit(child);
  };
  try {
    visit(JSON.parse(requestBody));
  } catch {
    // Not JSON: it has no images.
  }
  return found;
}
