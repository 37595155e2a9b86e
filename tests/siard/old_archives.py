"""A small archive of SIARD 1.0 with all that 1.0 has, to be bent by a test."""

from __future__ import annotations

from collections.abc import Mapping

NAMESPACE = "http://www.bar.admin.ch/xmlns/siard/1.0/metadata.xsd"
TABLE_NAMESPACE = "http://www.admin.ch/xmlns/siard/1.0/schema0/table0.xsd"
TABLE = "content/schema0/table0/table0.xml"
SCHEMA = "content/schema0/table0/table0.xsd"
LOBS = {
    "content/schema0/table0/lob3/record0.txt": "Grüße".encode(),
    "content/schema0/table0/lob4/record0.bin": b"first",
    "content/schema0/table0/lob4/record1.bin": b"second one",
}
METADATA_XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="metadata.xsl"?>
<siardArchive xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="1.0"
  xsi:schemaLocation="{NAMESPACE} metadata.xsd">
  <dbname>Old</dbname>
  <description>All that SIARD 1.0 has</description>
  <archiver>Somebody</archiver>
  <archiverContact>somebody@example.org</archiverContact>
  <dataOwner>Nobody</dataOwner>
  <dataOriginTimespan>1999</dataOriginTimespan>
  <producerApplication>by hand</producerApplication>
  <archivalDate>2009-02-03</archivalDate>
  <messageDigest>MD5D41D8CD98F00B204E9800998ECF8427E</messageDigest>
  <clientMachine>here</clientMachine>
  <databaseProduct>None</databaseProduct>
  <connection>jdbc:none</connection>
  <databaseUser>nobody</databaseUser>
  <schemas>
    <schema>
      <name>S\\u0020x</name>
      <folder>schema0</folder>
      <description>A schema</description>
      <tables>
        <table>
          <name>T</name>
          <folder>table0</folder>
          <description>A table</description>
          <columns>
            <column>
              <name>id</name>
              <type>integer</type>
              <typeOriginal>int</typeOriginal>
              <defaultValue>0</defaultValue>
              <nullable>false</nullable>
              <description>A number</description>
            </column>
            <column>
              <name>at</name>
              <type>TIMESTAMP(6) WITH TIME ZONE</type>
              <nullable>true</nullable>
            </column>
            <column>
              <name>words</name>
              <folder>lob3</folder>
              <type>VARCHAR(5000)</type>
              <nullable>true</nullable>
            </column>
            <column>
              <name>bytes</name>
              <folder>lob4</folder>
              <type>BLOB</type>
              <nullable>true</nullable>
            </column>
          </columns>
          <primaryKey>
            <column>id</column>
          </primaryKey>
          <foreignKeys>
            <foreignKey>
              <name>FK</name>
              <referencedSchema>S</referencedSchema>
              <referencedTable>T</referencedTable>
              <reference>
                <column>id</column>
                <referenced>id</referenced>
              </reference>
              <matchType>FULL</matchType>
              <deleteAction>set  null</deleteAction>
              <updateAction>ON UPDATE SOMETHING</updateAction>
              <description>A key</description>
            </foreignKey>
          </foreignKeys>
          <candidateKeys>
            <candidateKey>
              <name>CK</name>
              <column>id</column>
            </candidateKey>
          </candidateKeys>
          <checkConstraints>
            <checkConstraint>
              <name>CC</name>
              <condition>id &gt; 0</condition>
            </checkConstraint>
          </checkConstraints>
          <triggers>
            <trigger>
              <name>TR</name>
              <actionTime>BEFORE</actionTime>
              <triggerEvent>INSERT</triggerEvent>
              <aliasList>a</aliasList>
              <triggeredAction>nothing</triggeredAction>
            </trigger>
          </triggers>
          <rows>2</rows>
        </table>
      </tables>
      <views>
        <view>
          <name>V</name>
          <query>SELECT 1</query>
          <columns>
            <column>
              <name>one</name>
              <type>SMALLINT</type>
              <defaultValue>1</defaultValue>
              <nullable>true</nullable>
            </column>
          </columns>
          <rows>1</rows>
        </view>
      </views>
      <routines>
        <routine>
          <name>R</name>
          <source>nothing</source>
          <returnType>INTEGER</returnType>
          <parameters>
            <parameter>
              <name>p</name>
              <mode>IN</mode>
              <type>CHAR(3)</type>
              <typeOriginal>char</typeOriginal>
            </parameter>
          </parameters>
        </routine>
        <routine>
          <name>R</name>
        </routine>
        <routine>
          <name>R_2</name>
        </routine>
      </routines>
    </schema>
  </schemas>
  <users>
    <user>
      <name>U</name>
    </user>
  </users>
  <roles>
    <role>
      <name>RO</name>
      <admin>U</admin>
    </role>
  </roles>
  <privileges>
    <privilege>
      <type>SELECT</type>
      <object>T</object>
      <grantor>U</grantor>
      <grantee>U</grantee>
      <option>GRANT</option>
    </privilege>
  </privileges>
</siardArchive>
"""
TABLE_XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<table xmlns="{TABLE_NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="{TABLE_NAMESPACE} table0.xsd">
  <row><c1>1</c1><c2>2001-02-03T04:05:06.789Z</c2><c3 file="record0.txt" length="5"/><c4
    file="content/schema0/table0/lob4/record0.bin" length="5"
    messageDigest="MD58B04D5E3775D298E78455EFC5CA404D5"/></row>
  <row><c1>2</c1><c3>&lt;inline&gt;\\u005c</c3><c4
    messageDigest='' length='10' file='content/schema0/table0/lob4/record1.bin'/></row>
</table>
"""


def entries(metadata: str = METADATA_XML, table: str = TABLE_XML) -> Mapping[str, bytes]:
    """Return the entries of the archive by name, in their order."""
    return {
        **LOBS,
        TABLE: table.encode(),
        SCHEMA: b"<schema of='1.0'/>",
        "header/": b"",
        "header/metadata.xml": metadata.encode(),
        "header/metadata.xsd": b"<schema of='1.0'/>",
        "header/metadata.xsl": b"<stylesheet/>",
    }
