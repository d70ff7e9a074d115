/** A page of the site, as Markdown. */
export interface Page {
  /** Its path without slashes at the ends, such as `guides/tools`; empty for the home page. */
  readonly slug: string;
  readonly title: string;
  /** One sentence for search engines and `llms.txt`. */
  readonly description: string;
  /** Position in its group of the sidebar. */
  readonly order: number;
  /** Markdown without the title. Links to pages start with `/`. */
  readonly body: string;
}

/** The page's file in the content folder: front matter and body. */
export function pageText({ title, description, order, body }: Page): string {
  const frontMatter = [
    '---',
    `title: ${JSON.stringify(title)}`,
    `description: ${JSON.stringify(description)}`,
    `sidebar: { order: ${order} }`,
    '---',
  ];
  return `${frontMatter.join('\n')}\n\n${body.trim()}\n`;
}

/** The page as Markdown without front matter, which is served beside the site. */
export function plainPageText({ title, body }: Page): string {
  return `# ${title}\n\n${body.trim()}\n`;
}

/** The page's URL path. */
export function pagePath(slug: string): string {
  return slug === '' ? '/' : `/${slug}/`;
}
