import { expect, test } from 'vitest';
import { requestImages } from './request-images.ts';

const png = 'data:image/png;base64,iVBORw0KGgo=';

test('inline raster images of both APIs are found in order', () => {
  const body = {
    messages: [
      { role: 'user', content: [{ type: 'image_url', image_url: { url: png } }] },
      { content: [{ type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'UklGRg==' } }] },
    ],
  };
  expect(requestImages(JSON.stringify(body))).toEqual([png, 'data:image/webp;base64,UklGRg==']);
});

test('vector images, other addresses and other data are left out', () => {
  const urls = [
    'data:image/svg+xml;base64,PHN2Zz4=',
    'https://attacker.example/a.png',
    'data:text/html;base64,PGI+',
    `${png}" onerror="x`,
  ];
  expect(requestImages(JSON.stringify(urls))).toEqual([]);
  expect(requestImages('not JSON')).toEqual([]);
});
