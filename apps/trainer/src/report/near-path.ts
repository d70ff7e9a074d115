/** Makes paths below the current directory relative. */
export function nearPath(place: string): string {
  return place.replaceAll(`${process.cwd()}/`, '');
}
