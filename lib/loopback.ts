/** Whether a host name or an IP address names this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|[\w.-]+\.localhost|(::ffff:)?127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(host)
}

export function isLoopbackUrl(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname)
}
