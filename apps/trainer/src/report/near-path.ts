/** Paths below the current folder read better without it. */
export function nearPath(place: string): string {
  return place.replaceAll(`${process.cwd()}/`, '');
}
