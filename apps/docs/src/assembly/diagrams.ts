import { renderMermaidSVG } from 'beautiful-mermaid';

const colours = { bg: 'var(--sl-color-bg)', fg: 'var(--sl-color-text)', muted: 'var(--sl-color-text)' };

/** Replaces Mermaid blocks by drawings in the colours of the site's theme. */
export function withDiagrams(markdown: string): string {
  return markdown.replaceAll(/^```mermaid\n([\s\S]*?)^```$/gm, (_, source: string) => {
    const drawn = renderMermaidSVG(source, { ...colours, transparent: true });
    // The site loads no fonts of others, and a blank line would end the HTML block.
    const svg = drawn.replaceAll(/^\s*@import .*$/gm, '').replaceAll(/\n\s*(?=\n)/g, '');
    return `<figure class="diagram">\n${svg}\n</figure>`;
  });
}
