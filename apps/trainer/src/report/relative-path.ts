/** Makes paths below the current directory relative. */
export function relativePath(place: string): string {
  return place.replaceAll(`${process.cwd()}/`, '');
}
