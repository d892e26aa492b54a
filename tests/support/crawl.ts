type Crawled = { status: number; headers: Headers; text: string }

/** All pages reachable by links, by path; of pages that differ only in an id or the query, only one. */
export async function crawl(base: string, first: string, cookie = ""): Promise<Map<string, Crawled>> {
  const found = new Map<string, Crawled>()
  const links = [first]
  const seen = new Set(links.map(kindOf))
  for (const link of links) {
    const response = await fetch(base + link, { headers: { cookie } })
    const text = await response.text()
    found.set(kindOf(link), { status: response.status, headers: response.headers, text })
    for (const [, href = ""] of text.matchAll(/<a [^>]*href="(\/[^"]*)"/g)) {
      if (seen.has(kindOf(href))) continue
      seen.add(kindOf(href))
      links.push(href.replaceAll("&amp;", "&"))
    }
  }
  return found
}

function kindOf(link: string): string {
  const [path = ""] = link.split(/[?#]/)
  return path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")
}
