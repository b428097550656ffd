// Media types by file extension: those that third parties ask to be told. Not a register of all there are.
// The first extension of a type is the one that a file without a name gets.

const TYPES: Record<string, string> = {
  aac: "audio/aac", avi: "video/x-msvideo", avif: "image/avif", bin: "application/octet-stream", bmp: "image/bmp", bz2: "application/x-bzip2", css: "text/css", csv: "text/csv",
  doc: "application/msword", docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", eml: "message/rfc822",
  epub: "application/epub+zip", flac: "audio/x-flac", gif: "image/gif", gz: "application/gzip", heic: "image/heic", html: "text/html", htm: "text/html",
  ico: "image/vnd.microsoft.icon", ics: "text/calendar", jpg: "image/jpeg", jpeg: "image/jpeg", js: "text/javascript", json: "application/json",
  jsonl: "application/jsonl", m4a: "audio/mp4", m4v: "video/x-m4v", md: "text/markdown", mjs: "text/javascript", mkv: "video/x-matroska", mov: "video/quicktime",
  mp3: "audio/mpeg", mp4: "video/mp4", mpeg: "video/mpeg", mpg: "video/mpeg", odp: "application/vnd.oasis.opendocument.presentation",
  ods: "application/vnd.oasis.opendocument.spreadsheet", odt: "application/vnd.oasis.opendocument.text", ogg: "audio/ogg", opus: "audio/ogg",
  otf: "font/otf", parquet: "application/vnd.apache.parquet", pdf: "application/pdf", png: "image/png", ppt: "application/vnd.ms-powerpoint",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation", rar: "application/vnd.rar", rtf: "application/rtf",
  svg: "image/svg+xml", tar: "application/x-tar", tif: "image/tiff", tiff: "image/tiff", tsv: "text/tab-separated-values", ttf: "font/ttf",
  txt: "text/plain", vcf: "text/vcard", wasm: "application/wasm", wav: "audio/wav", weba: "audio/webm", webm: "video/webm", webp: "image/webp",
  woff: "font/woff", woff2: "font/woff2", xls: "application/vnd.ms-excel", xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  xml: "application/xml", yaml: "application/yaml", yml: "application/yaml", zip: "application/zip", "7z": "application/x-7z-compressed",
};

export function mediaType(name: string | undefined): string | undefined {
  const extension = /\.([^./\\]+)$/.exec(name ?? "")?.[1];
  return extension === undefined ? undefined : TYPES[extension.toLowerCase()];
}

/** An extension for a media type, where a file came without a name. */
export function extensionOf(type: string | undefined): string | undefined {
  const plain = type?.split(";")[0]?.trim().toLowerCase();
  return Object.entries(TYPES).find(([, known]) => known === plain)?.[0];
}
