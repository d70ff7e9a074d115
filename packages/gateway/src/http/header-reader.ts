/** Reads headers by their lower-case names: `Headers`, or those of a server's own request. */
export interface HeaderReader {
  get(name: string): string | null;
}
