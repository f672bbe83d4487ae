"""Kernels of serving, of training and of other fields, timed after those of the other files."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


def _permuted(count):
    """Return a permutation of the numbers below a power of two."""
    return [(i * 40503 + 12289) % count for i in range(count)]


PAGES = _permuted(2048)

IRLENS_KERNELS = {
    "paged_attention": {
        "sizes": {"B": 32, "HK": 8, "P": 64, "D": 128},
        "args": {"q": "bf16[B, HK, 16, D]", "k": "bf16[B * P, HK, 64, D]", "v": "bf16[B * P, HK, 64, D]", "table": "int32[B * P]:values[1, 1592, 1135, 678, 221, 1812, 1355, 898, 441, 2032, 1575, 1118, 661, 204, 1795, 1338, 881, 424, 2015, 1558, 1101, 644, 187, 1778, 1321, 864, 407, 1998, 1541, 1084, 627, 170, 1761, 1304, 847, 390, 1981, 1524, 1067, 610, 153, 1744, 1287, 830, 373, 1964, 1507, 1050, 593, 136, 1727, 1270, 813, 356, 1947, 1490, 1033, 576, 119, 1710, 1253, 796, 339, 1930, 1473, 1016, 559, 102, 1693, 1236, 779, 322, 1913, 1456, 999, 542, 85, 1676, 1219, 762, 305, 1896, 1439, 982, 525, 68, 1659, 1202, 745, 288, 1879, 1422, 965, 508, 51, 1642, 1185, 728, 271, 1862, 1405, 948, 491, 34, 1625, 1168, 711, 254, 1845, 1388, 931, 474, 17, 1608, 1151, 694, 237, 1828, 1371, 914, 457, 0, 1591, 1134, 677, 220, 1811, 1354, 897, 440, 2031, 1574, 1117, 660, 203, 1794, 1337, 880, 423, 2014, 1557, 1100, 643, 186, 1777, 1320, 863, 406, 1997, 1540, 1083, 626, 169, 1760, 1303, 846, 389, 1980, 1523, 1066, 609, 152, 1743, 1286, 829, 372, 1963, 1506, 1049, 592, 135, 1726, 1269, 812, 355, 1946, 1489, 1032, 575, 118, 1709, 1252, 795, 338, 1929, 1472, 1015, 558, 101, 1692, 1235, 778, 321, 1912, 1455, 998, 541, 84, 1675, 1218, 761, 304, 1895, 1438, 981, 524, 67, 1658, 1201, 744, 287, 1878, 1421, 964, 507, 50, 1641, 1184, 727, 270, 1861, 1404, 947, 490, 33, 1624, 1167, 710, 253, 1844, 1387, 930, 473, 16, 1607, 1150, 693, 236, 1827, 1370, 913, 456, 2047, 1590, 1133, 676, 219, 1810, 1353, 896, 439, 2030, 1573, 1116, 659, 202, 1793, 1336, 879, 422, 2013, 1556, 1099, 642, 185, 1776, 1319, 862, 405, 1996, 1539, 1082, 625, 168, 1759, 1302, 845, 388, 1979, 1522, 1065, 608, 151, 1742, 1285, 828, 371, 1962, 1505, 1048, 591, 134, 1725, 1268, 811, 354, 1945, 1488, 1031, 574, 117, 1708, 1251, 794, 337, 1928, 1471, 1014, 557, 100, 1691, 1234, 777, 320, 1911, 1454, 997, 540, 83, 1674, 1217, 760, 303, 1894, 1437, 980, 523, 66, 1657, 1200, 743, 286, 1877, 1420, 963, 506, 49, 1640, 1183, 726, 269, 1860, 1403, 946, 489, 32, 1623, 1166, 709, 252, 1843, 1386, 929, 472, 15, 1606, 1149, 692, 235, 1826, 1369, 912, 455, 2046, 1589, 1132, 675, 218, 1809, 1352, 895, 438, 2029, 1572, 1115, 658, 201, 1792, 1335, 878, 421, 2012, 1555, 1098, 641, 184, 1775, 1318, 861, 404, 1995, 1538, 1081, 624, 167, 1758, 1301, 844, 387, 1978, 1521, 1064, 607, 150, 1741, 1284, 827, 370, 1961, 1504, 1047, 590, 133, 1724, 1267, 810, 353, 1944, 1487, 1030, 573, 116, 1707, 1250, 793, 336, 1927, 1470, 1013, 556, 99, 1690, 1233, 776, 319, 1910, 1453, 996, 539, 82, 1673, 1216, 759, 302, 1893, 1436, 979, 522, 65, 1656, 1199, 742, 285, 1876, 1419, 962, 505, 48, 1639, 1182, 725, 268, 1859, 1402, 945, 488, 31, 1622, 1165, 708, 251, 1842, 1385, 928, 471, 14, 1605, 1148, 691, 234, 1825, 1368, 911, 454, 2045, 1588, 1131, 674, 217, 1808, 1351, 894, 437, 2028, 1571, 1114, 657, 200, 1791, 1334, 877, 420, 2011, 1554, 1097, 640, 183, 1774, 1317, 860, 403, 1994, 1537, 1080, 623, 166, 1757, 1300, 843, 386, 1977, 1520, 1063, 606, 149, 1740, 1283, 826, 369, 1960, 1503, 1046, 589, 132, 1723, 1266, 809, 352, 1943, 1486, 1029, 572, 115, 1706, 1249, 792, 335, 1926, 1469, 1012, 555, 98, 1689, 1232, 775, 318, 1909, 1452, 995, 538, 81, 1672, 1215, 758, 301, 1892, 1435, 978, 521, 64, 1655, 1198, 741, 284, 1875, 1418, 961, 504, 47, 1638, 1181, 724, 267, 1858, 1401, 944, 487, 30, 1621, 1164, 707, 250, 1841, 1384, 927, 470, 13, 1604, 1147, 690, 233, 1824, 1367, 910, 453, 2044, 1587, 1130, 673, 216, 1807, 1350, 893, 436, 2027, 1570, 1113, 656, 199, 1790, 1333, 876, 419, 2010, 1553, 1096, 639, 182, 1773, 1316, 859, 402, 1993, 1536, 1079, 622, 165, 1756, 1299, 842, 385, 1976, 1519, 1062, 605, 148, 1739, 1282, 825, 368, 1959, 1502, 1045, 588, 131, 1722, 1265, 808, 351, 1942, 1485, 1028, 571, 114, 1705, 1248, 791, 334, 1925, 1468, 1011, 554, 97, 1688, 1231, 774, 317, 1908, 1451, 994, 537, 80, 1671, 1214, 757, 300, 1891, 1434, 977, 520, 63, 1654, 1197, 740, 283, 1874, 1417, 960, 503, 46, 1637, 1180, 723, 266, 1857, 1400, 943, 486, 29, 1620, 1163, 706, 249, 1840, 1383, 926, 469, 12, 1603, 1146, 689, 232, 1823, 1366, 909, 452, 2043, 1586, 1129, 672, 215, 1806, 1349, 892, 435, 2026, 1569, 1112, 655, 198, 1789, 1332, 875, 418, 2009, 1552, 1095, 638, 181, 1772, 1315, 858, 401, 1992, 1535, 1078, 621, 164, 1755, 1298, 841, 384, 1975, 1518, 1061, 604, 147, 1738, 1281, 824, 367, 1958, 1501, 1044, 587, 130, 1721, 1264, 807, 350, 1941, 1484, 1027, 570, 113, 1704, 1247, 790, 333, 1924, 1467, 1010, 553, 96, 1687, 1230, 773, 316, 1907, 1450, 993, 536, 79, 1670, 1213, 756, 299, 1890, 1433, 976, 519, 62, 1653, 1196, 739, 282, 1873, 1416, 959, 502, 45, 1636, 1179, 722, 265, 1856, 1399, 942, 485, 28, 1619, 1162, 705, 248, 1839, 1382, 925, 468, 11, 1602, 1145, 688, 231, 1822, 1365, 908, 451, 2042, 1585, 1128, 671, 214, 1805, 1348, 891, 434, 2025, 1568, 1111, 654, 197, 1788, 1331, 874, 417, 2008, 1551, 1094, 637, 180, 1771, 1314, 857, 400, 1991, 1534, 1077, 620, 163, 1754, 1297, 840, 383, 1974, 1517, 1060, 603, 146, 1737, 1280, 823, 366, 1957, 1500, 1043, 586, 129, 1720, 1263, 806, 349, 1940, 1483, 1026, 569, 112, 1703, 1246, 789, 332, 1923, 1466, 1009, 552, 95, 1686, 1229, 772, 315, 1906, 1449, 992, 535, 78, 1669, 1212, 755, 298, 1889, 1432, 975, 518, 61, 1652, 1195, 738, 281, 1872, 1415, 958, 501, 44, 1635, 1178, 721, 264, 1855, 1398, 941, 484, 27, 1618, 1161, 704, 247, 1838, 1381, 924, 467, 10, 1601, 1144, 687, 230, 1821, 1364, 907, 450, 2041, 1584, 1127, 670, 213, 1804, 1347, 890, 433, 2024, 1567, 1110, 653, 196, 1787, 1330, 873, 416, 2007, 1550, 1093, 636, 179, 1770, 1313, 856, 399, 1990, 1533, 1076, 619, 162, 1753, 1296, 839, 382, 1973, 1516, 1059, 602, 145, 1736, 1279, 822, 365, 1956, 1499, 1042, 585, 128, 1719, 1262, 805, 348, 1939, 1482, 1025, 568, 111, 1702, 1245, 788, 331, 1922, 1465, 1008, 551, 94, 1685, 1228, 771, 314, 1905, 1448, 991, 534, 77, 1668, 1211, 754, 297, 1888, 1431, 974, 517, 60, 1651, 1194, 737, 280, 1871, 1414, 957, 500, 43, 1634, 1177, 720, 263, 1854, 1397, 940, 483, 26, 1617, 1160, 703, 246, 1837, 1380, 923, 466, 9, 1600, 1143, 686, 229, 1820, 1363, 906, 449, 2040, 1583, 1126, 669, 212, 1803, 1346, 889, 432, 2023, 1566, 1109, 652, 195, 1786, 1329, 872, 415, 2006, 1549, 1092, 635, 178, 1769, 1312, 855, 398, 1989, 1532, 1075, 618, 161, 1752, 1295, 838, 381, 1972, 1515, 1058, 601, 144, 1735, 1278, 821, 364, 1955, 1498, 1041, 584, 127, 1718, 1261, 804, 347, 1938, 1481, 1024, 567, 110, 1701, 1244, 787, 330, 1921, 1464, 1007, 550, 93, 1684, 1227, 770, 313, 1904, 1447, 990, 533, 76, 1667, 1210, 753, 296, 1887, 1430, 973, 516, 59, 1650, 1193, 736, 279, 1870, 1413, 956, 499, 42, 1633, 1176, 719, 262, 1853, 1396, 939, 482, 25, 1616, 1159, 702, 245, 1836, 1379, 922, 465, 8, 1599, 1142, 685, 228, 1819, 1362, 905, 448, 2039, 1582, 1125, 668, 211, 1802, 1345, 888, 431, 2022, 1565, 1108, 651, 194, 1785, 1328, 871, 414, 2005, 1548, 1091, 634, 177, 1768, 1311, 854, 397, 1988, 1531, 1074, 617, 160, 1751, 1294, 837, 380, 1971, 1514, 1057, 600, 143, 1734, 1277, 820, 363, 1954, 1497, 1040, 583, 126, 1717, 1260, 803, 346, 1937, 1480, 1023, 566, 109, 1700, 1243, 786, 329, 1920, 1463, 1006, 549, 92, 1683, 1226, 769, 312, 1903, 1446, 989, 532, 75, 1666, 1209, 752, 295, 1886, 1429, 972, 515, 58, 1649, 1192, 735, 278, 1869, 1412, 955, 498, 41, 1632, 1175, 718, 261, 1852, 1395, 938, 481, 24, 1615, 1158, 701, 244, 1835, 1378, 921, 464, 7, 1598, 1141, 684, 227, 1818, 1361, 904, 447, 2038, 1581, 1124, 667, 210, 1801, 1344, 887, 430, 2021, 1564, 1107, 650, 193, 1784, 1327, 870, 413, 2004, 1547, 1090, 633, 176, 1767, 1310, 853, 396, 1987, 1530, 1073, 616, 159, 1750, 1293, 836, 379, 1970, 1513, 1056, 599, 142, 1733, 1276, 819, 362, 1953, 1496, 1039, 582, 125, 1716, 1259, 802, 345, 1936, 1479, 1022, 565, 108, 1699, 1242, 785, 328, 1919, 1462, 1005, 548, 91, 1682, 1225, 768, 311, 1902, 1445, 988, 531, 74, 1665, 1208, 751, 294, 1885, 1428, 971, 514, 57, 1648, 1191, 734, 277, 1868, 1411, 954, 497, 40, 1631, 1174, 717, 260, 1851, 1394, 937, 480, 23, 1614, 1157, 700, 243, 1834, 1377, 920, 463, 6, 1597, 1140, 683, 226, 1817, 1360, 903, 446, 2037, 1580, 1123, 666, 209, 1800, 1343, 886, 429, 2020, 1563, 1106, 649, 192, 1783, 1326, 869, 412, 2003, 1546, 1089, 632, 175, 1766, 1309, 852, 395, 1986, 1529, 1072, 615, 158, 1749, 1292, 835, 378, 1969, 1512, 1055, 598, 141, 1732, 1275, 818, 361, 1952, 1495, 1038, 581, 124, 1715, 1258, 801, 344, 1935, 1478, 1021, 564, 107, 1698, 1241, 784, 327, 1918, 1461, 1004, 547, 90, 1681, 1224, 767, 310, 1901, 1444, 987, 530, 73, 1664, 1207, 750, 293, 1884, 1427, 970, 513, 56, 1647, 1190, 733, 276, 1867, 1410, 953, 496, 39, 1630, 1173, 716, 259, 1850, 1393, 936, 479, 22, 1613, 1156, 699, 242, 1833, 1376, 919, 462, 5, 1596, 1139, 682, 225, 1816, 1359, 902, 445, 2036, 1579, 1122, 665, 208, 1799, 1342, 885, 428, 2019, 1562, 1105, 648, 191, 1782, 1325, 868, 411, 2002, 1545, 1088, 631, 174, 1765, 1308, 851, 394, 1985, 1528, 1071, 614, 157, 1748, 1291, 834, 377, 1968, 1511, 1054, 597, 140, 1731, 1274, 817, 360, 1951, 1494, 1037, 580, 123, 1714, 1257, 800, 343, 1934, 1477, 1020, 563, 106, 1697, 1240, 783, 326, 1917, 1460, 1003, 546, 89, 1680, 1223, 766, 309, 1900, 1443, 986, 529, 72, 1663, 1206, 749, 292, 1883, 1426, 969, 512, 55, 1646, 1189, 732, 275, 1866, 1409, 952, 495, 38, 1629, 1172, 715, 258, 1849, 1392, 935, 478, 21, 1612, 1155, 698, 241, 1832, 1375, 918, 461, 4, 1595, 1138, 681, 224, 1815, 1358, 901, 444, 2035, 1578, 1121, 664, 207, 1798, 1341, 884, 427, 2018, 1561, 1104, 647, 190, 1781, 1324, 867, 410, 2001, 1544, 1087, 630, 173, 1764, 1307, 850, 393, 1984, 1527, 1070, 613, 156, 1747, 1290, 833, 376, 1967, 1510, 1053, 596, 139, 1730, 1273, 816, 359, 1950, 1493, 1036, 579, 122, 1713, 1256, 799, 342, 1933, 1476, 1019, 562, 105, 1696, 1239, 782, 325, 1916, 1459, 1002, 545, 88, 1679, 1222, 765, 308, 1899, 1442, 985, 528, 71, 1662, 1205, 748, 291, 1882, 1425, 968, 511, 54, 1645, 1188, 731, 274, 1865, 1408, 951, 494, 37, 1628, 1171, 714, 257, 1848, 1391, 934, 477, 20, 1611, 1154, 697, 240, 1831, 1374, 917, 460, 3, 1594, 1137, 680, 223, 1814, 1357, 900, 443, 2034, 1577, 1120, 663, 206, 1797, 1340, 883, 426, 2017, 1560, 1103, 646, 189, 1780, 1323, 866, 409, 2000, 1543, 1086, 629, 172, 1763, 1306, 849, 392, 1983, 1526, 1069, 612, 155, 1746, 1289, 832, 375, 1966, 1509, 1052, 595, 138, 1729, 1272, 815, 358, 1949, 1492, 1035, 578, 121, 1712, 1255, 798, 341, 1932, 1475, 1018, 561, 104, 1695, 1238, 781, 324, 1915, 1458, 1001, 544, 87, 1678, 1221, 764, 307, 1898, 1441, 984, 527, 70, 1661, 1204, 747, 290, 1881, 1424, 967, 510, 53, 1644, 1187, 730, 273, 1864, 1407, 950, 493, 36, 1627, 1170, 713, 256, 1847, 1390, 933, 476, 19, 1610, 1153, 696, 239, 1830, 1373, 916, 459, 2, 1593, 1136, 679, 222, 1813, 1356, 899, 442, 2033, 1576, 1119, 662, 205, 1796, 1339, 882, 425, 2016, 1559, 1102, 645, 188, 1779, 1322, 865, 408, 1999, 1542, 1085, 628, 171, 1762, 1305, 848, 391, 1982, 1525, 1068, 611, 154, 1745, 1288, 831, 374, 1965, 1508, 1051, 594, 137, 1728, 1271, 814, 357, 1948, 1491, 1034, 577, 120, 1711, 1254, 797, 340, 1931, 1474, 1017, 560, 103, 1694, 1237, 780, 323, 1914, 1457, 1000, 543, 86, 1677, 1220, 763, 306, 1897, 1440, 983, 526, 69, 1660, 1203, 746, 289, 1880, 1423, 966, 509, 52, 1643, 1186, 729, 272, 1863, 1406, 949, 492, 35, 1626, 1169, 712, 255, 1846, 1389, 932, 475, 18, 1609, 1152, 695, 238, 1829, 1372, 915, 458]", "o": "bf16[B, HK, 16, D]", "HK": "HK", "P": "P"},
        "constexprs": {"D": "D", "PAGE": 64, "BT": 64}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["B", "HK"], "outputs": ["o"], "inputs": "pages",
    },
    "ssd_chunk_scan": {
        "sizes": {"B": 4, "NC": 16, "L": 256, "H": 32, "P": 64, "S": 128},
        "args": {"x": "bf16[B, NC * L, H, P]", "bm": "bf16[B, NC * L, S]", "cm": "bf16[B, NC * L, S]", "da": "fp32[B, H, NC, L]", "dt": "fp32[B, H, NC, L]", "st": "bf16[B, NC, H, P, S]", "o": "bf16[B, NC * L, H, P]", "NC": "NC", "H": "H"},
        "constexprs": {"L": "L", "P": "P", "S": "S", "BM": 64, "BK": 64}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["cdiv(L, BM)", "B * NC", "H"], "outputs": ["o"],
    },
    "int8_matmul": {
        "sizes": {"M": 2048, "N": 4096, "K": 4096},
        "args": {"a": "i8[M, K]", "b": "i8[N, K]", "sa": "fp32[M]", "sb": "fp32[N]", "c": "bf16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 128}, "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)"], "outputs": ["c"],
    },
    "fp8_block_matmul": {
        "sizes": {"M": 2048, "N": 4096, "K": 4096},
        "args": {"a": "fp8e4nv[M, K]", "b": "fp8e4nv[N, K]", "sa": "fp32[M, K // 128]", "sb": "fp32[N // 128, K // 128]", "c": "bf16[M, N]", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 128}, "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["cdiv(M, BM)", "cdiv(N, BN)"], "outputs": ["c"],
    },
    "sliding_attention": {
        "sizes": {"B": 4, "H": 16, "T": 4096, "D": 64},
        "args": {"q": "bf16[B, H, T, D]", "k": "bf16[B, H, T, D]", "v": "bf16[B, H, T, D]", "o": "bf16[B, H, T, D]", "T": "T"},
        "constexprs": {"D": "D", "W": 1024, "BM": 64, "BN": 64}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["cdiv(T, BM)", "B * H"], "outputs": ["o"],
    },
    "causal_conv": {
        "sizes": {"B": 8, "T": 4096, "C": 2048},
        "args": {"x": "bf16[B, T, C]", "w": "bf16[4, C]", "o": "bf16[B, T, C]", "T": "T", "C": "C"},
        "constexprs": {"BT": 16, "BC": 128}, "options": {"num_warps": 4},
        "grid": ["cdiv(T, BT)", "cdiv(C, BC)", "B"], "outputs": ["o"],
    },
    "argmax_rows": {
        "sizes": {"R": 2048, "V": 32768},
        "args": {"x": "fp32[R, V]", "o": "int32[R]", "V": "V"},
        "constexprs": {"BLOCK": 2048}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["R"], "outputs": ["o"],
    },
    "streamk_matmul": {
        "sizes": {"M": 1536, "N": 1792, "K": 4096},
        "args": {"a": "fp16[M, K]", "b": "fp16[K, N]", "c": "fp32[M, N]", "M": "M", "N": "N", "K": "K"},
        "constexprs": {"BM": 128, "BN": 128, "BK": 64, "P": 132}, "options": {"num_warps": 8, "num_stages": 3},
        "grid": ["P"], "outputs": ["c"], "inputs": "zeroed",
    },
    "small_gemms": {
        "sizes": {"B": 65536, "D": 32},
        "args": {"a": "fp16[B, D, D]", "b": "fp16[B, D, D]", "c": "fp16[B, D, D]"},
        "constexprs": {"D": "D", "EACH": 4}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["B // EACH"], "outputs": ["c"],
    },
    "stencil": {
        "sizes": {"H": 8192, "W": 8192},
        "args": {"x": "fp32[H, W]", "o": "fp32[H, W]", "H": "H", "W": "W"},
        "constexprs": {"BH": 8, "BW": 128}, "options": {"num_warps": 4},
        "grid": ["cdiv(H, BH)", "cdiv(W, BW)"], "outputs": ["o"],
    },
    "histogram_kernel": {
        "sizes": {"n": 67108864},
        "args": {"x": "int32[n]", "o": "int32[256]"},
        "constexprs": {"BLOCK": 1024, "EACH": 16}, "options": {"num_warps": 4},
        "grid": ["n // (BLOCK * EACH)"], "outputs": ["o"], "inputs": "bytes_of",
    },
    "attention_dkdv": {
        "sizes": {"B": 2, "H": 16, "T": 4096, "D": 64},
        "args": {"q": "bf16[B, H, T, D]", "k": "bf16[B, H, T, D]", "v": "bf16[B, H, T, D]", "do": "bf16[B, H, T, D]", "lse": "fp32[B, H, T]", "delta": "fp32[B, H, T]", "dk": "bf16[B, H, T, D]", "dv": "bf16[B, H, T, D]", "T": "T"},
        "constexprs": {"D": "D", "BM": 64, "BN": 64}, "options": {"num_warps": 4, "num_stages": 2},
        "grid": ["cdiv(T, BN)", "B * H"], "outputs": ["dk", "dv"],
    },
    "geglu_kernel": {
        "sizes": {"R": 8192, "C": 8192},
        "args": {"a": "bf16[R, C]", "b": "bf16[R, C]", "c": "bf16[R, C]", "C": "C"},
        "constexprs": {"BLOCK": 2048}, "options": {"num_warps": 4},
        "grid": ["R", "cdiv(C, BLOCK)"], "outputs": ["c"],
    },
    "permute_kernel": {
        "sizes": {"B": 8, "S": 4096, "H": 32, "D": 64},
        "args": {"x": "bf16[B, S, H, D]", "o": "bf16[B, H, S, D]", "S": "S", "H": "H"},
        "constexprs": {"D": "D", "BS": 16, "BH": 4}, "options": {"num_warps": 4},
        "grid": ["cdiv(S, BS)", "cdiv(H, BH)", "B"], "outputs": ["o"],
    },
    "rms_backward": {
        "sizes": {"R": 16384, "C": 4096, "P": 132},
        "args": {"dy": "bf16[R, C]", "x": "bf16[R, C]", "w": "bf16[C]", "rstd": "fp32[R]", "dx": "bf16[R, C]", "dw": "fp32[P, C]", "R": "R", "C": "C"},
        "constexprs": {"BLOCK": 4096, "P": "P"}, "options": {"num_warps": 8, "num_stages": 1},
        "grid": ["P"], "outputs": ["dx", "dw"],
    },
}


def pages(table):
    import torch

    return {"table": torch.tensor(PAGES).to(table)}


def zeroed(c):
    return {"c": c.zero_()}


def bytes_of(x, o):
    return {"x": x.random_(0, 256), "o": o.zero_()}


@triton.jit
def paged_attention(q, k, v, table, o, HK, P, D: tl.constexpr, PAGE: tl.constexpr, BT: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    r = tl.arange(0, 16)
    d = tl.arange(0, D)
    t = tl.arange(0, BT)
    bq = tl.load(q + ((b * HK + h) * 16 + r[:, None]) * D + d[None, :])
    m = tl.full((16,), -1e30, tl.float32)
    z = tl.zeros((16,), tl.float32)
    acc = tl.zeros((16, D), tl.float32)
    for i in range(0, P * PAGE, BT):
        page = tl.load(table + b * P + (i + t) // PAGE)
        at = ((page * HK + h) * PAGE + (i + t) % PAGE)[:, None] * D + d[None, :]
        s = tl.dot(bq, tl.trans(tl.load(k + at))) * 0.088
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - mn[:, None])
        f = tl.exp2(m - mn)
        z = z * f + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), tl.load(v + at), acc * f[:, None])
        m = mn
    tl.store(o + ((b * HK + h) * 16 + r[:, None]) * D + d[None, :], (acc / z[:, None]).to(tl.bfloat16))


@triton.jit
def ssd_chunk_scan(x, bm, cm, da, dt, st, o, NC, H, L: tl.constexpr, P: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    bc = tl.program_id(1)
    h = tl.program_id(2)
    b = bc // NC
    ch = bc % NC
    rm = pm * BM + tl.arange(0, BM)
    rk = tl.arange(0, BK)
    rp = tl.arange(0, P)
    rs = tl.arange(0, S)
    row = (b * NC + ch) * L
    seq = ((b * H + h) * NC + ch) * L
    dam = tl.load(da + seq + rm)
    c = tl.load(cm + (row + rm)[:, None] * S + rs[None, :])
    prev = tl.load(st + ((b * NC + ch) * H + h) * P * S + rs[:, None] + rp[None, :] * S)
    acc = tl.dot(c, prev) * tl.exp(dam)[:, None]
    for k in range(0, (pm + 1) * BM, BK):
        bb = tl.load(bm + (row + k + rk)[None, :] * S + rs[:, None])
        cb = tl.dot(c, bb)
        dak = tl.load(da + seq + k + rk)
        dtk = tl.load(dt + seq + k + rk)
        cb *= tl.exp(dam[:, None] - dak[None, :]) * dtk[None, :]
        cb = tl.where(rm[:, None] >= (k + rk)[None, :], cb, 0.0)
        bx = tl.load(x + ((row + k + rk)[:, None] * H + h) * P + rp[None, :])
        acc = tl.dot(cb.to(tl.bfloat16), bx, acc)
    tl.store(o + ((row + rm)[:, None] * H + h) * P + rp[None, :], acc.to(tl.bfloat16))


@triton.jit
def int8_matmul(a, b, sa, sb, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.int32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + rn[None, :] * K + (k + rk)[:, None])
        acc = tl.dot(x, y, acc, out_dtype=tl.int32)
    r = acc.to(tl.float32) * tl.load(sa + rm)[:, None] * tl.load(sb + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], r.to(tl.bfloat16))


@triton.jit
def fp8_block_matmul(a, b, sa, sb, c, N, K, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, 128)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K // 128):
        x = tl.load(a + rm[:, None] * K + (k * 128 + rk)[None, :])
        y = tl.load(b + rn[None, :] * K + (k * 128 + rk)[:, None])
        s = tl.load(sa + rm * (K // 128) + k)
        t = tl.load(sb + (rn // 128) * (K // 128) + k)
        acc += tl.dot(x, y) * s[:, None] * t[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16))


@triton.jit
def sliding_attention(q, k, v, o, T, D: tl.constexpr, W: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pm = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * T * D
    rm = pm * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    bq = tl.load(q + base + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -1e30, tl.float32)
    z = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(tl.maximum(pm * BM - W, 0) // BN * BN, (pm + 1) * BM, BN):
        at = base + (n + rn)[:, None] * D + rd[None, :]
        s = tl.dot(bq, tl.trans(tl.load(k + at))) * 0.18
        gap = rm[:, None] - (n + rn)[None, :]
        s = tl.where((gap >= 0) & (gap < W), s, -1e30)
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - mn[:, None])
        f = tl.exp2(m - mn)
        z = z * f + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), tl.load(v + at), acc * f[:, None])
        m = mn
    tl.store(o + base + rm[:, None] * D + rd[None, :], (acc / z[:, None]).to(tl.bfloat16))


@triton.jit
def causal_conv(x, w, o, T, C, BT: tl.constexpr, BC: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(2) * T * C
    acc = tl.zeros((BT, BC), tl.float32)
    for j in tl.static_range(4):
        p = t + j - 3
        y = tl.load(x + base + p[:, None] * C + c[None, :], mask=p[:, None] >= 0, other=0.0)
        acc += y.to(tl.float32) * tl.load(w + j * C + c).to(tl.float32)[None, :]
    tl.store(o + base + t[:, None] * C + c[None, :], (acc * tl.sigmoid(acc)).to(tl.bfloat16))


@triton.jit
def argmax_rows(x, o, V, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), -float("inf"), tl.float32)
    at = tl.zeros((BLOCK,), tl.int32)
    for i in range(0, V, BLOCK):
        y = tl.load(x + row * V + i + c)
        more = y > best
        best = tl.where(more, y, best)
        at = tl.where(more, i + c, at)
    lane = tl.argmax(best, 0)
    tl.store(o + row, tl.sum(tl.where(c == lane, at, 0), 0))


@triton.jit
def streamk_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr):
    pid = tl.program_id(0)
    steps = K // BK
    pn_all = N // BN
    total = (M // BM) * pn_all * steps
    start = pid * total // P
    last = (pid + 1) * total // P
    rk = tl.arange(0, BK)
    while start < last:
        end = tl.minimum(start - start % steps + steps, last)
        tile = start // steps
        rm = (tile // pn_all) * BM + tl.arange(0, BM)
        rn = (tile % pn_all) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for i in range(start % steps, start % steps + (end - start)):
            x = tl.load(a + rm[:, None] * K + (i * BK + rk)[None, :])
            y = tl.load(b + (i * BK + rk)[:, None] * N + rn[None, :])
            acc = tl.dot(x, y, acc)
        tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc, sem="relaxed")
        start = end


@triton.jit
def small_gemms(a, b, c, D: tl.constexpr, EACH: tl.constexpr):
    r = tl.arange(0, D)
    at = r[:, None] * D + r[None, :]
    for i in range(tl.program_id(0) * EACH, tl.program_id(0) * EACH + EACH):
        x = tl.load(a + i * D * D + at)
        y = tl.load(b + i * D * D + at)
        tl.store(c + i * D * D + at, tl.dot(x, y).to(tl.float16))


@triton.jit
def stencil(x, o, H, W, BH: tl.constexpr, BW: tl.constexpr):
    h = (tl.program_id(0) * BH + tl.arange(0, BH))[:, None]
    w = (tl.program_id(1) * BW + tl.arange(0, BW))[None, :]
    at = x + h * W + w
    mid = tl.load(at)
    up = tl.load(at - W, mask=(h > 0) & (w >= 0), other=0.0)
    down = tl.load(at + W, mask=(h < H - 1) & (w >= 0), other=0.0)
    left = tl.load(at - 1, mask=(w > 0) & (h >= 0), other=0.0)
    right = tl.load(at + 1, mask=(w < W - 1) & (h >= 0), other=0.0)
    tl.store(o + h * W + w, mid + 0.1 * (up + down + left + right - 4 * mid))


@triton.jit
def histogram_kernel(x, o, BLOCK: tl.constexpr, EACH: tl.constexpr):
    c = tl.arange(0, BLOCK)
    acc = tl.zeros((256,), tl.int32)
    for i in range(EACH):
        acc += tl.histogram(tl.load(x + (tl.program_id(0) * EACH + i) * BLOCK + c), 256)
    tl.atomic_add(o + tl.arange(0, 256), acc, sem="relaxed")


@triton.jit
def attention_dkdv(q, k, v, do, lse, delta, dk, dv, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pn = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    base = bh * T * D
    rn = pn * BN + tl.arange(0, BN)
    rm = tl.arange(0, BM)
    rd = tl.arange(0, D)
    at = base + rn[:, None] * D + rd[None, :]
    bk = tl.load(k + at)
    bv = tl.load(v + at)
    ak = tl.zeros((BN, D), tl.float32)
    av = tl.zeros((BN, D), tl.float32)
    for m in range(0, T, BM):
        to = base + (m + rm)[:, None] * D + rd[None, :]
        bq = tl.load(q + to)
        bd = tl.load(do + to)
        p = tl.exp2(tl.dot(bk, tl.trans(bq)) * 0.18 - tl.load(lse + bh * T + m + rm)[None, :])
        av = tl.dot(p.to(tl.bfloat16), bd, av)
        dp = tl.dot(bv, tl.trans(bd))
        ds = p * (dp - tl.load(delta + bh * T + m + rm)[None, :])
        ak = tl.dot(ds.to(tl.bfloat16), bq, ak)
    tl.store(dk + at, ak.to(tl.bfloat16))
    tl.store(dv + at, av.to(tl.bfloat16))


@triton.jit
def geglu_kernel(a, b, c, C, BLOCK: tl.constexpr):
    at = tl.program_id(0) * C + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + at).to(tl.float32)
    g = 0.5 * x * (1 + libdevice.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
    tl.store(c + at, (g * tl.load(b + at).to(tl.float32)).to(tl.bfloat16))


@triton.jit
def permute_kernel(x, o, S, H, D: tl.constexpr, BS: tl.constexpr, BH: tl.constexpr):
    s = (tl.program_id(0) * BS + tl.arange(0, BS))[:, None, None]
    h = (tl.program_id(1) * BH + tl.arange(0, BH))[None, :, None]
    d = tl.arange(0, D)[None, None, :]
    b = tl.program_id(2)
    y = tl.load(x + ((b * S + s) * H + h) * D + d)
    tl.store(o + ((b * H + h) * S + s) * D + d, y)


@triton.jit
def rms_backward(dy, x, w, rstd, dx, dw, R, C, BLOCK: tl.constexpr, P: tl.constexpr):
    c = tl.arange(0, BLOCK)
    bw = tl.load(w + c).to(tl.float32)
    acc = tl.zeros((BLOCK,), tl.float32)
    for row in range(tl.program_id(0), R, P):
        by = tl.load(dy + row * C + c).to(tl.float32)
        bx = tl.load(x + row * C + c).to(tl.float32)
        r = tl.load(rstd + row)
        m = by * bw
        s = tl.sum(m * bx, 0) * r * r / C
        tl.store(dx + row * C + c, (r * (m - s * bx)).to(tl.bfloat16))
        acc += by * bx * r
    tl.store(dw + tl.program_id(0) * C + c, acc)
